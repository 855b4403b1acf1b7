/** The desk's report under its choices, and the values that were seen to choose from. */
import { SvelteMap } from "svelte/reactivity";
import type { Choice, UsageReport } from "../../protocol/api";
import { api, type Scope } from "../../transport/api";
import type { FilterName } from "../../charts/address/address";
import { causeText, VERDICTS } from "../../charts/figures/words";

export class Desk {
  report = $state.raw<UsageReport | null>(null);
  problem = $state("");
  isLoading = $state(true);
  /** Labels by key. A filtered report names only the filter's own value, so those of earlier reports stay. */
  readonly seen: Record<FilterName, SvelteMap<string, string>> = {
    model: new SvelteMap(),
    surface: new SvelteMap(),
    status: new SvelteMap(),
    code: new SvelteMap(),
    verdict: new SvelteMap(),
    user: new SvelteMap(),
    group: new SvelteMap(),
  };
  private numLoads = 0;

  /** Load the report. A result overtaken by a later query is dropped; until it is there, the earlier one stays. */
  async load(asked: string, scope: Scope): Promise<void> {
    const load = ++this.numLoads;
    this.isLoading = true;
    try {
      const report = await api.usage(new URLSearchParams(asked), scope);
      if (load !== this.numLoads) return;
      this.learn(report);
      this.report = report;
      this.problem = "";
    } catch (error) {
      if (load !== this.numLoads) return;
      // The earlier report is not of the period that was asked for.
      this.report = null;
      this.problem = error instanceof Error ? error.message : String(error);
    }
    this.isLoading = false;
  }

  private learn({ models, surfaces, users, user_groups, causes, verdicts }: UsageReport): void {
    const found: [FilterName, Choice[]][] = [
      ["model", models],
      ["surface", surfaces],
      ["user", users],
      ["group", user_groups],
    ];
    for (const { code } of causes) if (code) this.seen.code.set(code, causeText(code));
    for (const { verdict } of verdicts) this.seen.verdict.set(verdict, VERDICTS[verdict] ?? verdict);
    for (const [name, choices] of found)
      for (const { key, label } of choices) this.seen[name].set(key, label);
  }
}
