/** What we use of gifenc 1.0.3, which has no types of its own. */
declare module "gifenc" {
  export type Palette = [red: number, green: number, blue: number][];

  export interface FrameOptions {
    /** Of the first frame it is all frames' own. */
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
