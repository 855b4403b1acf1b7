/** What an operator enters of a model, and the refusals of its fields. */
import type { RegisteredModel } from "../../protocol/api";
import { ApiError } from "../../transport/api";
import type { ModelBody, ModelChange } from "../../transport/desk";
import { idFrom, type Kind } from "./words";

/** Fields with a place for their refusal. */
const FIELDS = ["id", "path", "url", "key", "has_vision", "num_workers"];

export class ModelForm {
  kind = $state<Kind | null>(null);
  path = $state("");
  url = $state("");
  key = $state("");
  isKeyRemoved = $state(false);
  hasVision = $state(false);
  num_workers = $state(1);
  isBusy = $state(false);
  /** The server's refusals by their field; "": of none of these. */
  refusals = $state.raw<Record<string, string>>({});
  private typedId = $state<string | null>(null);

  constructor(model?: RegisteredModel) {
    if (!model) return;
    const { kind, path, url, has_vision: hasVision, num_workers } = model;
    Object.assign(this, { kind, path, url, hasVision, num_workers });
  }

  /** The id that was typed, or one made of the path. */
  get id(): string {
    return this.typedId ?? idFrom(this.path);
  }

  set id(typed: string) {
    this.typedId = typed;
  }

  isWrong(field: string): boolean {
    return field in this.refusals;
  }

  /** The new model. Null: its kind is not chosen yet. */
  get body(): ModelBody | null {
    const { kind, id, num_workers } = this;
    if (!kind) return null;
    const server =
      kind === "remote" ? { url: this.url.trim(), key: this.key, has_vision: this.hasVision } : {};
    return { id, kind, path: this.path.trim(), num_workers, ...server };
  }

  /** What is other than before. An empty key keeps the key that is set. */
  changeOf(before: RegisteredModel): ModelChange {
    const [path, url] = [this.path.trim(), this.url.trim()];
    return {
      ...(path !== before.path && { path }),
      ...(url !== before.url && { url }),
      ...(this.isKeyRemoved ? { key: "" } : this.key && { key: this.key }),
      ...(this.hasVision !== before.has_vision && { has_vision: this.hasVision }),
      ...(this.num_workers !== before.num_workers && { num_workers: this.num_workers }),
    };
  }

  /** Send what was entered. Return true when the server took it. */
  async submit(send: () => Promise<unknown>): Promise<boolean> {
    if (this.isBusy) return false;
    [this.isBusy, this.refusals] = [true, {}];
    try {
      await send();
      return true;
    } catch (error) {
      this.refusals = refusalsOf(error);
      return false;
    } finally {
      this.isBusy = false;
    }
  }
}

function refusalsOf(error: unknown): Record<string, string> {
  if (!(error instanceof ApiError)) return { "": String(error) };
  const told = error.problem.problems ?? [error.problem];
  const named = told.map(({ field, message }) => [field && FIELDS.includes(field) ? field : "", message]);
  return Object.fromEntries(named) as Record<string, string>;
}
