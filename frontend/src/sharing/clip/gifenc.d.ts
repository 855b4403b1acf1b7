/** The parts of gifenc 1.0.3 that we use; it has no types of its own. */
declare module "gifenc" {
  export type Palette = [red: number, green: number, blue: number][];

  export interface FrameOptions {
    /** The first frame's palette serves all frames. */
    palette?: Palette | number[][];
    /** Milliseconds. */
    delay?: number;
    transparent?: boolean;
    transparentIndex?: number;
    /** 1: the frame before stays below. */
    dispose?: number;
  }

  export interface Encoder {
    writeFrame(index: Uint8Array, width: number, height: number, options?: FrameOptions): void;
    finish(): void;
    bytes(): Uint8Array;
  }

  export function GIFEncoder(): Encoder;
  export function quantize(rgba: Uint8ClampedArray, maxColors: number): Palette;
  export function applyPalette(rgba: Uint8ClampedArray, palette: Palette): Uint8Array;
}
