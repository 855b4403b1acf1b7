/** The files that the next message will carry, and the passages that the user pinned for it. */
import { SvelteMap } from "svelte/reactivity";
import type { Attachment, Pin } from "../../protocol/api";
import { api, ApiError } from "../../transport/api";

/** Time between two looks at a file that is being read. */
const LOOK_MS = 400;
/** A file whose upload has no reply yet has no row of the server. */
export interface Chip {
  key: number;
  name: string;
  /** Null: it is on its way. */
  file: Attachment | null;
  /** Why it cannot be sent; empty: nothing speaks against it so far. */
  problem: string;
}

/** What a message takes along; empty lists are left out. */
export interface Taken {
  attachments?: string[];
  pins?: Pin[];
}

export class Files {
  chips = $state<Chip[]>([]);
  private readonly pinned = new SvelteMap<string, number[]>();
  private readonly whole = new SvelteMap<string, true>();
  private nextKey = 0;
  private isClosed = false;

  /** Files that no server has read yet. */
  get numReading(): number {
    return this.chips.filter(({ file, problem }) => !problem && file?.status !== "ready").length;
  }

  /** Tokens of all files that are ready, as far as they are known. */
  get numTokens(): number {
    return this.chips.reduce((sum, { file }) => sum + (file?.num_tokens ?? 0), 0);
  }

  get numPinned(): number {
    return this.whole.size + [...this.pinned.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** Ids and pins as the next message would send them. */
  get wanted(): Taken {
    const attachments = this.chips.flatMap(({ file }) => (file?.status === "ready" ? [file.id] : []));
    const ids = new Set([...this.pinned.keys(), ...this.whole.keys()]);
    const pins = [...ids].map((attachment_id) => ({
      attachment_id,
      passages: this.pinned.get(attachment_id) ?? [],
      is_whole: this.whole.has(attachment_id),
    }));
    return { ...(attachments.length && { attachments }), ...(pins.length && { pins }) };
  }

  /** Attach files; model: the one whose tokens are counted. */
  async add(files: Iterable<File>, model: string): Promise<void> {
    await Promise.all([...files].map((file) => this.upload(file, model)));
  }

  private async upload(file: File, model: string): Promise<void> {
    this.chips.push({ key: this.nextKey++, name: file.name || "file", file: null, problem: "" });
    const chip = this.chips.at(-1)!;
    try {
      chip.file = await api.attach(file, model);
      chip.name = chip.file.name;
      while (chip.file.status === "reading" && !this.isClosed && this.chips.includes(chip)) {
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
        chip.file = await api.attachment(chip.file.id);
      }
      chip.problem = chip.file.reason;
    } catch (error) {
      chip.problem = error instanceof ApiError ? error.problem.message : "The file could not be sent.";
    }
    if (!this.chips.includes(chip)) this.forget(chip);
  }

  remove(chip: Chip): void {
    this.chips = this.chips.filter(({ key }) => key !== chip.key);
    if (chip.file) this.unpin(chip.file.id);
    this.forget(chip);
  }

  /** The server deletes an unsent file after a day by itself. */
  private forget({ file }: Chip): void {
    if (file) void api.deleteAttachment(file.id).catch(() => {});
  }

  /** Hand the files over to a message that is sent now. Refused ones go. */
  take(): Taken {
    const taken = this.wanted;
    this.chips = [];
    this.pinned.clear();
    this.whole.clear();
    return taken;
  }

  isPinned(id: string, passage: number): boolean {
    return this.pinned.get(id)?.includes(passage) ?? false;
  }

  toggle(id: string, passage: number): void {
    const before = this.pinned.get(id) ?? [];
    const after = before.includes(passage) ? before.filter((each) => each !== passage) : [...before, passage];
    if (after.length) this.pinned.set(id, after);
    else this.pinned.delete(id);
  }

  isWhole(id: string): boolean {
    return this.whole.has(id);
  }

  toggleWhole(id: string): void {
    if (!this.whole.delete(id)) this.whole.set(id, true);
  }

  unpinAll(): void {
    this.pinned.clear();
    this.whole.clear();
  }

  private unpin(id: string): void {
    this.pinned.delete(id);
    this.whole.delete(id);
  }

  /** Look no more at files that are being read. */
  close(): void {
    this.isClosed = true;
  }
}
