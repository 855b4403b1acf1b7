/** Reads MessagePack (msgpack.org's specification): what a saved trace uses of it. Byte strings share the buffer. */

export type Packed = null | boolean | number | string | Uint8Array | Packed[] | { [key: string]: Packed };

/** Throws on what is truncated or of a kind that no saved trace has. */
export function readMsgpack(bytes: Uint8Array): Packed {
  return new Reader(bytes).value();
}

class Reader {
  private at = 0;
  private readonly view: DataView;
  private readonly text = new TextDecoder("utf-8", { fatal: true });

  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  value(): Packed {
    const kind = this.view.getUint8(this.at++);
    if (kind < 0x80) return kind;
    if (kind < 0x90) return this.map(kind & 0x0f);
    if (kind < 0xa0) return this.array(kind & 0x0f);
    if (kind < 0xc0) return this.string(kind & 0x1f);
    if (kind >= 0xe0) return kind - 0x100;
    return this.longer(kind);
  }

  private longer(kind: number): Packed {
    if (kind === 0xc0) return null;
    if (kind === 0xc2 || kind === 0xc3) return kind === 0xc3;
    if (kind >= 0xc4 && kind <= 0xc6) return this.take(this.unsigned(1 << (kind - 0xc4)));
    if (kind === 0xcb) return this.view.getFloat64(this.skip(8));
    if (kind >= 0xcc && kind <= 0xcf) return this.unsigned(1 << (kind - 0xcc));
    if (kind >= 0xd0 && kind <= 0xd3) return this.signed(1 << (kind - 0xd0));
    if (kind >= 0xd9 && kind <= 0xdb) return this.string(this.unsigned(1 << (kind - 0xd9)));
    if (kind === 0xdc || kind === 0xdd) return this.array(this.unsigned(2 << (kind - 0xdc)));
    if (kind === 0xde || kind === 0xdf) return this.map(this.unsigned(2 << (kind - 0xde)));
    throw new Error(`There is no ${kind.toString(16)} in a saved trace.`);
  }

  private skip(size: number): number {
    this.at += size;
    return this.at - size;
  }

  private unsigned(size: number): number {
    const at = this.skip(size);
    if (size === 1) return this.view.getUint8(at);
    if (size === 2) return this.view.getUint16(at);
    return size === 4 ? this.view.getUint32(at) : Number(this.view.getBigUint64(at));
  }

  private signed(size: number): number {
    const at = this.skip(size);
    if (size === 1) return this.view.getInt8(at);
    if (size === 2) return this.view.getInt16(at);
    return size === 4 ? this.view.getInt32(at) : Number(this.view.getBigInt64(at));
  }

  private take(size: number): Uint8Array {
    const at = this.skip(size);
    if (this.at > this.bytes.length) throw new Error("The saved trace is truncated.");
    return this.bytes.subarray(at, this.at);
  }

  private string(size: number): string {
    return this.text.decode(this.take(size));
  }

  private array(size: number): Packed[] {
    const found: Packed[] = [];
    for (let index = 0; index < size; index++) found.push(this.value());
    return found;
  }

  private map(size: number): { [key: string]: Packed } {
    const found: { [key: string]: Packed } = {};
    for (let index = 0; index < size; index++) found[String(this.value())] = this.value();
    return found;
  }
}
