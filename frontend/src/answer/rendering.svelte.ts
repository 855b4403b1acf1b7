/** One answer's text as blocks of safe HTML, rendered again when the parts for its formulas or code have come. */
import { IncrementalMarkdown } from "../markdown/incremental";
import { FetchedParts } from "../markdown/parts";
import { renderMarkdown } from "../markdown/render";

export class AnswerRendering {
  private version = $state(0);
  private readonly parts = new FetchedParts(() => (this.version += 1));
  private readonly markdown = $derived.by(() => {
    void this.version;
    return new IncrementalMarkdown(renderMarkdown, this.parts);
  });

  /** The blocks of the Markdown so far. */
  blocks(text: string, isStreaming: boolean): string[] {
    return this.markdown.update(text, isStreaming);
  }
}
