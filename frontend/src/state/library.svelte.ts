/** The library's list under its filter, which of it is selected, and the saved views. */
import { SvelteSet } from "svelte/reactivity";
import {
  api,
  ApiError,
  type ListedTrace,
  type SavedView,
  type Selection,
  type TagCount,
} from "../transport/api";

export class Library {
  list = $state.raw<ListedTrace[]>([]);
  next = $state<string | null>(null);
  /** The filter, as in the address. */
  query = $state("");
  problem = $state("");
  /** The filter that the server did not understand. */
  wrongFilter = $state("");
  isLoaded = $state(false);
  isLoading = $state(false);
  readonly selected = new SvelteSet<string>();
  /** Not only those that are listed. */
  hasAllMatching = $state(false);
  views = $state.raw<SavedView[]>([]);
  tags = $state.raw<TagCount[]>([]);
  private numLoads = 0;

  /** Begins the list anew. What was overtaken by a later question is dropped. */
  async load(query = this.query): Promise<void> {
    this.query = query;
    this.clearSelection();
    await this.loadPage(null);
  }

  async loadMore(): Promise<void> {
    if (this.next) await this.loadPage(this.next);
  }

  private async loadPage(cursor: string | null): Promise<void> {
    const load = ++this.numLoads;
    this.isLoading = true;
    const asked = new URLSearchParams(this.query);
    if (cursor) asked.set("cursor", cursor);
    try {
      const page = await api.traces(asked);
      if (load !== this.numLoads) return;
      this.list = cursor ? [...this.list, ...page.traces] : page.traces;
      this.next = page.next_cursor;
      this.problem = this.wrongFilter = "";
      this.isLoaded = true;
    } catch (error) {
      if (load !== this.numLoads) return;
      this.tell(error);
      this.wrongFilter = (error instanceof ApiError && error.problem.field) || "";
    }
    this.isLoading = false;
  }

  async loadViews(): Promise<void> {
    await this.attempt(async () => {
      const [{ views }, { tags }] = await Promise.all([api.views(), api.tags()]);
      this.views = views;
      this.tags = tags;
    });
  }

  /** Under a name that there is already it takes the other's place. */
  async saveView(name: string): Promise<boolean> {
    return this.attempt(async () => {
      const same = this.views.find((view) => view.name === name.trim());
      await (same
        ? api.changeView(same.id, { query: this.query })
        : api.saveView({ name, query: this.query }));
      await this.loadViews();
    });
  }

  /** Changes one trace's marks, on the page at once. */
  async mark(id: string, change: Partial<NonNullable<ListedTrace["marks"]>>): Promise<boolean> {
    return this.attempt(async () => {
      const row = await api.changeTrace(id, change);
      this.list = this.list.map((trace) => (trace.id === id ? row : trace));
      if (change.tags) this.tags = (await api.tags()).tags;
    });
  }

  async tagSelected(add: string[], remove: string[]): Promise<boolean> {
    return this.attempt(async () => {
      await api.tagTraces({ ...this.selection, add, remove });
      await Promise.all([this.load(), this.loadViews()]);
    });
  }

  toggle(id: string, isSelected: boolean): void {
    this.hasAllMatching = false;
    if (isSelected) this.selected.add(id);
    else this.selected.delete(id);
  }

  clearSelection(): void {
    this.hasAllMatching = false;
    this.selected.clear();
  }

  /** All that match are those until now: what is asked meanwhile is not among them. */
  get selection(): Selection {
    if (!this.hasAllMatching) return { ids: [...this.selected] };
    const query = new URLSearchParams(this.query);
    if (!query.has("until")) query.set("until", new Date().toISOString());
    return { query: query.toString() };
  }

  async attempt(action: () => Promise<unknown>): Promise<boolean> {
    this.problem = "";
    try {
      await action();
      return true;
    } catch (error) {
      this.tell(error);
      return false;
    }
  }

  private tell(error: unknown): void {
    this.problem = error instanceof Error ? error.message : String(error);
  }
}
