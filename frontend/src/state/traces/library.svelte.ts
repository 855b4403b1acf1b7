/** The library's list under its filter, its selection, and the saved views. */
import { SvelteMap, SvelteSet } from "svelte/reactivity";
import type { Choices, ListedRequest, SavedView, Selection, TagCount } from "../../protocol/api";
import { api, ApiError } from "../../transport/api";
import { counted } from "../../trace/format";
import { PartlyDeleted } from "../deletions.svelte";

const MAX_TAGS = 20;

/** True when the list is sorted by time: a set is then one row. By a figure, which a set lacks, each run has a row. */
function isByTime(asked: URLSearchParams): boolean {
  return (asked.get("sort") ?? "created_at").endsWith("created_at");
}

export class Library {
  list = $state.raw<ListedRequest[]>([]);
  next = $state<string | null>(null);
  /** The filter, as in the address. */
  query = $state("");
  problem = $state("");
  /** The filter that the server did not understand. */
  wrongFilter = $state("");
  isLoaded = $state(false);
  isLoading = $state(false);
  /** The runs of each set that is expanded, in their order. */
  readonly expanded = new SvelteMap<string, ListedRequest[]>();
  readonly selected = new SvelteSet<string>();
  /** True when all traces that match are selected, also those that are not loaded. */
  hasAllMatching = $state(false);
  views = $state.raw<SavedView[]>([]);
  tags = $state.raw<TagCount[]>([]);
  /** The values that the filters can find; null: not known yet. */
  choices = $state.raw<Choices | null>(null);
  private numLoads = 0;

  /** Load the list again. A result overtaken by a later query is dropped. */
  async load(query = this.query): Promise<void> {
    const open = query === this.query ? [...this.expanded.keys()] : [];
    this.query = query;
    this.clearSelection();
    await this.loadPage(null);
    this.expanded.clear();
    await Promise.all(open.map((set) => this.expand(set)));
  }

  async loadMore(): Promise<void> {
    if (this.next) await this.loadPage(this.next);
  }

  private async loadPage(cursor: string | null): Promise<void> {
    const load = ++this.numLoads;
    this.isLoading = true;
    const asked = new URLSearchParams(this.query);
    if (cursor) asked.set("cursor", cursor);
    if (!asked.has("rerun") && isByTime(asked)) asked.set("is_grouped", "true");
    try {
      const page = await api.requests(asked);
      if (load !== this.numLoads) return;
      this.list = cursor ? [...this.list, ...page.requests] : page.requests;
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

  /** Show the runs of a set below its row: the runs that meet the filter. */
  async expand(set: string): Promise<void> {
    const { query } = this;
    await this.attempt(async () => {
      const runs = await this.runsOf(set);
      if (query === this.query) this.expanded.set(set, runs);
    });
  }

  async loadChoices(): Promise<void> {
    await this.attempt(async () => (this.choices = (await api.choices()).choices));
  }

  /** Delete one trace. The server refuses while its request is open. */
  async deleteTrace(id: string): Promise<void> {
    await api.deleteRequest(id);
    await this.reloadSets([id]);
  }

  /** Delete traces; `listed` have a row. Rejects with PartlyDeleted where some stay, and loads the list again. */
  async deleteTraces(selection: Selection, listed: string[]): Promise<void> {
    const { num_traces } = await api.deleteRequests(selection);
    const isByIds = "ids" in selection;
    if (isByIds && num_traces >= listed.length) return this.reloadSets(listed);
    await this.load();
    const here = new Set(this.list.flatMap(({ id, set }) => set?.ids ?? [id]));
    const numLeft = isByIds ? listed.length - num_traces : listed.filter((id) => here.has(id)).length;
    if (numLeft)
      throw new PartlyDeleted(
        `${numLeft} of ${counted(listed.length, "trace")} ${numLeft === 1 ? "was" : "were"} not deleted. You can delete a running request when it has ended.`,
      );
  }

  /** Load the sets again that held some of these traces, and their runs where they are shown. */
  async reloadSets(ids: string[]): Promise<void> {
    const hit = this.list.filter(({ set }) => set?.ids.some((id) => ids.includes(id)));
    await Promise.all(hit.map(({ rerun_id }) => this.reloadSet(rerun_id!)));
  }

  private async reloadSet(rerun: string): Promise<void> {
    const { query } = this;
    await this.attempt(async () => {
      const asked = new URLSearchParams(query);
      asked.set("rerun", rerun);
      asked.set("is_grouped", "true");
      const { requests } = await api.requests(asked);
      if (query !== this.query) return;
      this.list = this.list.flatMap((row) => (row.set && row.rerun_id === rerun ? requests : [row]));
      if (!requests[0]?.set) this.expanded.delete(rerun);
      else if (this.expanded.has(rerun)) await this.expand(rerun);
    });
  }

  private async runsOf(set: string): Promise<ListedRequest[]> {
    const asked = new URLSearchParams(this.query);
    asked.set("rerun", set);
    const found: ListedRequest[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      if (cursor) asked.set("cursor", cursor);
      const page: Awaited<ReturnType<typeof api.requests>> = await api.requests(asked);
      found.push(...page.requests);
      cursor = page.next_cursor;
    }
    return found.sort((a, b) => a.run!.index - b.run!.index);
  }

  /** The selected rows. The runs of a collapsed set are fetched; null: that failed. */
  async selectedRows(): Promise<ListedRequest[] | null> {
    let rows: ListedRequest[] = [];
    const isDone = await this.attempt(async () => {
      const sets = this.list.filter(({ set, rerun_id }) => set && !this.expanded.has(rerun_id!));
      const needed = sets.filter(({ set }) => set!.ids.some((id) => this.selected.has(id)));
      const fetched = await Promise.all(needed.map(({ rerun_id }) => this.runsOf(rerun_id!)));
      const all = [...this.list, ...[...this.expanded.values(), ...fetched].flat()];
      rows = [...new Map(all.map((row) => [row.id, row])).values()].filter(({ id }) => this.selected.has(id));
    });
    return isDone ? rows : null;
  }

  async loadViews(): Promise<void> {
    await this.attempt(async () => {
      const [{ views }, { tags }] = await Promise.all([api.views(), api.tags()]);
      this.views = views;
      this.tags = tags;
    });
  }

  /** Save the filter as a view. It replaces a view of the same name. */
  async saveView(name: string): Promise<boolean> {
    return this.attempt(async () => {
      const same = this.views.find((view) => view.name === name.trim());
      await (same
        ? api.changeView(same.id, { query: this.query })
        : api.saveView({ name, query: this.query }));
      await this.loadViews();
    });
  }

  /** Change one trace's marks, on the server and in the list. */
  async mark(id: string, change: Partial<NonNullable<ListedRequest["marks"]>>): Promise<boolean> {
    return this.attempt(async () => {
      const row = await api.changeMarks(id, change);
      // The row of a set has the id of its last run, and the server's answer tells nothing of the set.
      const changed = (trace: ListedRequest) =>
        trace.id === id ? { ...trace, ...row, set: trace.set } : trace;
      this.list = this.list.map(changed);
      for (const [set, runs] of this.expanded) this.expanded.set(set, runs.map(changed));
      if (change.tags) this.tags = (await api.tags()).tags;
    });
  }

  async tagSelected(add: string[], remove: string[]): Promise<boolean> {
    return this.attempt(async () => {
      await api.tagRequests({ ...this.selection, add, remove });
      if (new URLSearchParams(this.query).has("tag")) await this.load();
      else this.retag(add, remove);
      await this.loadViews();
    });
  }

  /** Change the tags of the selected rows by the server's rule: a trace gets at most MAX_TAGS. */
  private retag(add: string[], remove: string[]): void {
    const changed = (row: ListedRequest): ListedRequest => {
      if (!row.marks || !(this.hasAllMatching || this.selected.has(row.id))) return row;
      const kept = row.marks.tags.filter((tag) => !remove.includes(tag));
      const tags = [...new Set([...kept, ...add.slice(0, MAX_TAGS - kept.length)])].sort();
      return { ...row, marks: { ...row.marks, tags } };
    };
    this.list = this.list.map(changed);
    for (const [set, runs] of this.expanded) this.expanded.set(set, runs.map(changed));
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

  /** The selected traces. "All that match" ends at the present moment, so that later traces are not among them. */
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
