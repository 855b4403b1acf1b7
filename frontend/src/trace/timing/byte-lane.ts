/** The way of each generated token's bytes: buffered until a character is whole, then until its text is let out. */
import type { TokenSampled } from "../../protocol/events";
import { decodeBase64 } from "../bytes";
import type { TraceView } from "../view";

export interface LaneToken {
  token: TokenSampled;
  bytes: number[];
  /** Bytes that wait for the rest of their character once this token has come, its own last ones included. */
  numBuffered: number;
  /** The characters that became whole with this token. */
  text: string;
  /** Index of the release of its text, from 0; null: none (it is withheld, cut off at a stop text, or not out yet). */
  release: number | null;
  /** From its draw to its release, µs. */
  bufferedUs: number | null;
  /** seq of the release's event, which says in which frame it travelled. */
  seq: number | null;
}

/** The lane of all tokens; releases: each with the seq of its event. */
export function laneOf(view: TraceView): LaneToken[] {
  const releases = view.events.filter(({ event }) => event.type === "text.released");
  let [waiting, release] = [[] as number[], 0];
  return view.tokens.map((token, index) => {
    const bytes = [...decodeBase64(token.piece)];
    const { whole, rest } = split([...waiting, ...bytes]);
    waiting = rest;
    while (release < view.releases.length && view.releases[release]!.num_tokens <= index) release++;
    const out = view.releases[release];
    return {
      token,
      bytes,
      numBuffered: rest.length,
      text: decoder.decode(Uint8Array.from(whole)),
      release: out ? release : null,
      bufferedUs: out ? Math.max(0, out.at - token.at) : null,
      seq: releases[release]?.seq ?? null,
    };
  });
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Bytes of whole characters, and those of an unfinished one (RFC 3629). */
export function split(bytes: number[]): { whole: number[]; rest: number[] } {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    const cut = size > back ? bytes.length - back : bytes.length;
    return { whole: bytes.slice(0, cut), rest: bytes.slice(cut) };
  }
  return { whole: bytes, rest: [] };
}
