/** The whole texts of the messages that a prompt left out, asked for once. The trace has their beginnings. */
import { api } from "../../transport/api";

export class LeftOut {
  private texts = $state.raw<Record<string, string>>({});
  private askedFor = "";

  /** To be called in an effect. requestId: of a request on this server; empty: there is none. */
  need(requestId: string, isAnyLeftOut: boolean): void {
    if (!isAnyLeftOut || !requestId || this.askedFor === requestId) return;
    this.askedFor = requestId;
    api.leftOut(requestId).then(
      ({ texts }) => (this.texts = texts),
      () => {},
    );
  }

  /** The whole text, or its beginning where that is all that is known. */
  of({ source, text }: { source: string; text: string }): string {
    return this.texts[source] ?? (text.length >= 200 ? `${text} …` : text);
  }
}
