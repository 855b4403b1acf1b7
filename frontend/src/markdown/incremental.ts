/** Streaming Markdown: only the last open block is rendered again; finished blocks stay as they are. */
import { NO_PARTS, type Parts } from "./parts";
import { markdown, renderMarkdown, type Environment, type Render } from "./render";

export { renderMarkdown } from "./render";

export class IncrementalMarkdown {
  private frozen: string[] = [];
  private html: string[] = [];
  private frozenLength = 0;
  private source = "";
  private definitions = "{}";

  constructor(
    private readonly toSafe: Render = renderMarkdown,
    private readonly parts: Parts = NO_PARTS,
  ) {}

  /** Blocks of HTML for the text so far. A text that does not extend the last one starts over. isOpen: not final. */
  update(text: string, isOpen = false): string[] {
    const source = text.replaceAll(/\r\n?/g, "\n");
    if (!source.startsWith(this.source)) {
      this.frozen = [];
      this.html = [];
      this.frozenLength = 0;
    }
    this.source = source;
    this.freeze();
    return this.render(source.slice(this.frozenLength), isOpen);
  }

  /** A block is finished when another has begun after a blank line. */
  private freeze(): void {
    const tail = this.source.slice(this.frozenLength);
    const lines = settled(tail).split("\n");
    const last = markdown
      .parse(lines.join("\n"), {})
      .filter((token) => token.level === 0 && token.map && token.nesting >= 0)
      .map((token) => token.map![0])
      .findLast((line) => line > 0 && !lines[line - 1]!.trim());
    if (!last) return;
    const length = lines.slice(0, last).join("\n").length + 1;
    this.frozen.push(tail.slice(0, length));
    this.frozenLength += length;
  }

  /** Link definitions may come after their use: when they change, the finished blocks are rendered once more. */
  private render(tail: string, isOpen: boolean): string[] {
    const parts = tail ? [...this.frozen, tail] : this.frozen;
    const environment: Environment = { references: {}, parts: this.parts };
    if (this.source.includes("]:")) markdown.parse(this.source, environment);
    const definitions = JSON.stringify(environment.references);
    if (definitions !== this.definitions) this.html = [];
    this.definitions = definitions;
    this.html = parts.map((part, index) => {
      const isDone = index < this.frozen.length && this.html.length > index + 1;
      if (isDone) return this.html[index]!;
      return this.toSafe(part, { ...environment, isOpen: isOpen && index === parts.length - 1 });
    });
    return [...this.html];
  }
}

/** Without the last line while it could still turn into something that belongs to the block before it. */
function settled(text: string): string {
  const start = text.lastIndexOf("\n") + 1;
  return /^\p{L}/u.test(text.slice(start)) ? text : text.slice(0, start);
}
