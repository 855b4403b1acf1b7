/** Task lists in Markdown: an item that begins with `[ ]` or `[x]` has a box that says so and cannot be changed. */
import type { MarkdownIt, Token } from "markdown-it";

const BOX = /^\[([ xX])\][ \t]+(?=\S)/;

export function tasks(markdown: MarkdownIt): void {
  markdown.core.ruler.after("inline", "tasks", ({ tokens }) => {
    tokens.forEach((token, index) => {
      const [item, paragraph] = [tokens[index - 2], tokens[index - 1]];
      if (token.type !== "inline" || item?.type !== "list_item_open") return;
      if (paragraph?.type === "paragraph_open") mark(item, token.children![0]);
    });
  });
  markdown.renderer.rules.list_item_open = (tokens, index, options, _env, self) => {
    const state = tokens[index]!.meta as { isDone: boolean } | null;
    const item = self.renderToken(tokens, index, options);
    if (!state) return item;
    const [label, checked] = state.isDone ? ["Done", " checked"] : ["To do", ""];
    return `${item}<input type="checkbox" disabled aria-label="${label}"${checked}>`;
  };
}

function mark(item: Token, first: Token | undefined): void {
  const box = first?.type === "text" ? BOX.exec(first.content) : null;
  if (!box) return;
  first!.content = first!.content.slice(box[0].length);
  item.meta = { isDone: box[1] !== " " };
  item.attrSet("class", "task");
}
