/** One token's attention, read from its probe. */
import type { ProbeAttended } from "../../protocol/events";
import { decodeBase64 } from "../bytes";

export class Attention {
  readonly numLayers: number;
  readonly numHeads: number;
  /** Tokens that were attended to, the attending one last. */
  readonly numTokens: number;
  private readonly codes: Uint8Array;

  constructor(event: Pick<ProbeAttended, "num_layers" | "num_heads" | "position" | "weights">) {
    this.numLayers = event.num_layers;
    this.numHeads = event.num_heads;
    this.numTokens = event.position + 1;
    this.codes = decodeBase64(event.weights);
  }

  /** One head's weight on one token, 0 to 1. */
  weight(layer: number, head: number, token: number): number {
    return (this.code(layer, head, token) / 255) ** 2;
  }

  /** The root of the weight, 0 to 1: its visible size, small weights too. */
  strength(layer: number, head: number, token: number): number {
    return this.code(layer, head, token) / 255;
  }

  /** The heaviest token of tokens first to end - 1. */
  heaviest(layer: number, head: number, first = 0, end = this.numTokens): number {
    let best = first;
    for (let token = first; token < end; token++)
      if (this.code(layer, head, token) > this.code(layer, head, best)) best = token;
    return best;
  }

  /** The weight on each token, over all heads of all layers. */
  mean(): number[] {
    const count = this.numLayers * this.numHeads;
    const sums = new Array<number>(this.numTokens).fill(0);
    this.codes.forEach((code, index) => (sums[index % this.numTokens]! += (code / 255) ** 2 / count));
    return sums;
  }

  /** The weights of one head. */
  row(layer: number, head: number): number[] {
    return Array.from({ length: this.numTokens }, (_, token) => this.weight(layer, head, token));
  }

  private code(layer: number, head: number, token: number): number {
    return this.codes[(layer * this.numHeads + head) * this.numTokens + token]!;
  }
}
