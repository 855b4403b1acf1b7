/** The order in which things were last used, and the ones to drop. Knows their ids alone. */

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

  /** The free ids but for the `numKept` used last. An id that is not free always stays. */
  surplus(numKept: number, isFree: (id: string) => boolean): string[] {
    const free = this.ids.filter(isFree);
    return free.slice(0, Math.max(0, free.length - numKept));
  }
}
