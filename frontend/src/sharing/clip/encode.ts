/** A film as a file, made in the page: WebM by the browser's own encoder, GIF everywhere. It stops between two frames. */
import type { Film } from "./film";
import { HEIGHT, WIDTH } from "./frame";

export type Format = "webm" | "gif";

export interface Making {
  signal: AbortSignal;
  /** 0 to 1. */
  onProgress: (share: number) => void;
  /** The canvas to draw on, which may be in sight. */
  canvas: HTMLCanvasElement;
}

export const PER_SECOND: Record<Format, number> = { webm: 25, gif: 10 };

/** Device pixels; a GIF of more would be too large a file. */
const SIZES: Record<Format, number> = { webm: 1, gif: 2 / 3 };
const BITRATE = 1_600_000;
const KEY_EVERY = 50;
const MOST_QUEUED = 4;
const CODECS = [
  { codec: "vp09.00.31.08", id: "V_VP9" },
  { codec: "vp8", id: "V_VP8" },
];

/** The format that this browser can make best. */
export async function bestFormat(): Promise<Format> {
  return (await usableCodec()) ? "webm" : "gif";
}

async function usableCodec(): Promise<(typeof CODECS)[number] | null> {
  if (typeof VideoEncoder === "undefined") return null;
  for (const each of CODECS) {
    const answer = await VideoEncoder.isConfigSupported(configOf(each.codec)).catch(() => null);
    if (answer?.supported) return each;
  }
  return null;
}

const configOf = (codec: string): VideoEncoderConfig => ({
  codec,
  width: WIDTH,
  height: HEIGHT,
  bitrate: BITRATE,
  framerate: PER_SECOND.webm,
});

/** Null: it was cancelled. Throws where the browser cannot make it. */
export async function make(film: Film, format: Format, making: Making): Promise<Blob | null> {
  making.canvas.width = Math.round(WIDTH * SIZES[format]);
  making.canvas.height = Math.round(HEIGHT * SIZES[format]);
  return format === "webm" ? makeVideo(film, making) : makeGif(film, making);
}

const MICROSECONDS = 1_000_000;

async function makeVideo(film: Film, { canvas, signal, onProgress }: Making): Promise<Blob | null> {
  const usable = await usableCodec();
  if (!usable) throw new Error("This browser cannot make a video here. Choose GIF.");
  const { Muxer, ArrayBufferTarget } = await import("webm-muxer");
  const target = new ArrayBufferTarget();
  const video = { codec: usable.id, width: WIDTH, height: HEIGHT, frameRate: film.perSecond };
  const muxer = new Muxer({ target, video });
  const failures: Error[] = [];
  const encoder = new VideoEncoder({
    output: (chunk, meta) => muxer.addVideoChunk(chunk, meta),
    error: (error) => failures.push(error),
  });
  encoder.configure(configOf(usable.codec));
  const context = canvas.getContext("2d")!;
  try {
    for (let at = 0; at < film.numFrames; at++) {
      if (signal.aborted) return null;
      film.draw(context, at);
      const times = {
        timestamp: (at * MICROSECONDS) / film.perSecond,
        duration: MICROSECONDS / film.perSecond,
      };
      const frame = new VideoFrame(canvas, times);
      encoder.encode(frame, { keyFrame: at % KEY_EVERY === 0 });
      frame.close();
      onProgress((at + 1) / film.numFrames);
      await pause();
      while (encoder.encodeQueueSize > MOST_QUEUED && !failures.length && !signal.aborted) await pause();
      if (failures[0]) throw failures[0];
    }
    await encoder.flush();
  } finally {
    if (encoder.state !== "closed") encoder.close();
  }
  muxer.finalize();
  return new Blob([target.buffer], { type: "video/webm" });
}

/** The last colour of the palette stands for unchanged pixels. */
const NUM_COLORS = 128;
/** The number of frames that the palette is made of, and the step between their pixels. */
const [NUM_SAMPLES, SAMPLE_STEP] = [24, 7];

async function makeGif(film: Film, { canvas, signal, onProgress }: Making): Promise<Blob | null> {
  const { GIFEncoder, quantize, applyPalette } = await import("gifenc");
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  const { width, height } = canvas;
  const pixels = () => context.getImageData(0, 0, width, height).data;
  const samples: number[] = [];
  for (let sample = 0; sample < NUM_SAMPLES && !signal.aborted; sample++) {
    film.draw(context, Math.floor((sample * (film.numFrames - 1)) / (NUM_SAMPLES - 1)));
    takeSamples(pixels(), samples);
    await pause();
  }
  const palette = quantize(Uint8ClampedArray.from(samples), NUM_COLORS - 1);
  const same = palette.length;
  const gif = GIFEncoder();
  let before: Uint8Array | null = null;
  for (let at = 0; at < film.numFrames; at++) {
    if (signal.aborted) return null;
    film.draw(context, at);
    const now = applyPalette(pixels(), palette);
    const shown = before ? unlike(now, before, same) : now;
    gif.writeFrame(shown, width, height, {
      delay: 1000 / film.perSecond,
      ...(at === 0 && { palette: [...palette, [0, 0, 0]] }),
      ...(before && { transparent: true, transparentIndex: same }),
      dispose: 1,
    });
    before = now;
    onProgress((at + 1) / film.numFrames);
    await pause();
  }
  gif.finish();
  return new Blob([gif.bytes() as Uint8Array<ArrayBuffer>], { type: "image/gif" });
}

function takeSamples(data: Uint8ClampedArray, samples: number[]): void {
  for (let at = 0; at < data.length; at += 4 * SAMPLE_STEP * SAMPLE_STEP)
    samples.push(data[at]!, data[at + 1]!, data[at + 2]!, 255);
}

/** The pixels that have changed; all others get the index that stands for that. */
export function unlike(now: Uint8Array, before: Uint8Array, same: number): Uint8Array {
  return now.map((color, index) => (color === before[index] ? same : color));
}

/** Between two frames the page lives on. */
const pause = () => new Promise<void>((done) => setTimeout(done));
