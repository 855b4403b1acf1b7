/** The order in which things were last looked at, and which of them may be let go. Knows nothing of what they are. */

export class Recent {
  /** The least recently used comes first. */
  private readonly ids: string[] = [];

  touch(id: string): void {
    this.forget(id);
    this.ids.push(id);
  }

  forget(id: string): void {
    const index = this.ids.indexOf(id);
    if (index >= 0) this.ids.splice(index, 1);
  }

  /** All but the `numKept` newest of those that are free; one that is in use stays beside them. */
  surplus(numKept: number, isFree: (id: string) => boolean): string[] {
    const free = this.ids.filter(isFree);
    return free.slice(0, Math.max(0, free.length - numKept));
  }
}
