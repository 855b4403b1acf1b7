/** A film as a file, made in the page: WebM by the browser's own encoder, else its last frame as PNG. */
import type { Film } from "./film";
import { HEIGHT, WIDTH } from "./frame";

export interface Making {
  signal: AbortSignal;
  /** 0 to 1. */
  onProgress: (share: number) => void;
  /** The canvas to draw on, which may be in sight. */
  canvas: HTMLCanvasElement;
}

export const PER_SECOND = 25;
const BITRATE = 1_600_000;
const KEY_EVERY = 50;
const MOST_QUEUED = 4;
const CODECS = [
  { codec: "vp09.00.31.08", id: "V_VP9" },
  { codec: "vp8", id: "V_VP8" },
];

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
  framerate: PER_SECOND,
});

/** A video, or the last picture where the browser makes none. Null: it was cancelled. */
export async function make(film: Film, making: Making): Promise<Blob | null> {
  const usable = await usableCodec();
  try {
    if (usable) return await makeVideo(film, usable, making);
  } catch {
    // An encoder can fail although the browser supports its configuration.
  }
  return making.signal.aborted ? null : makePicture(film, making);
}

const MICROSECONDS = 1_000_000;

async function makeVideo(
  film: Film,
  usable: (typeof CODECS)[number],
  { canvas, signal, onProgress }: Making,
): Promise<Blob | null> {
  const { Muxer, ArrayBufferTarget } = await import("webm-muxer");
  const target = new ArrayBufferTarget();
  const video = { codec: usable.id, width: WIDTH, height: HEIGHT, frameRate: film.perSecond };
  const muxer = new Muxer({ target, video });
  const context = canvas.getContext("2d")!;
  const failures: Error[] = [];
  const encoder = new VideoEncoder({
    output: (chunk, meta) => muxer.addVideoChunk(chunk, meta),
    error: (error) => failures.push(error),
  });
  try {
    encoder.configure(configOf(usable.codec));
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

/** The clip's last frame: the whole answer with its figures. */
async function makePicture(film: Film, { canvas, onProgress }: Making): Promise<Blob> {
  film.draw(canvas.getContext("2d")!, film.numFrames - 1);
  onProgress(1);
  const picture = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (!picture) throw new Error("This browser can make neither a video nor a picture.");
  return picture;
}

/** Between two frames the page lives on. */
const pause = () => new Promise<void>((done) => setTimeout(done));
