/** Models for tests of the registry's page. */
import type { RegisteredModel, WorkerStatus } from "../../protocol/api";

export function model(changed: Partial<RegisteredModel> = {}): RegisteredModel {
  return {
    id: "small",
    name: "Small",
    kind: "gguf",
    path: "/models/small.gguf",
    url: "",
    has_key: false,
    has_vision: false,
    state: "enabled",
    is_default: false,
    is_configured: false,
    num_workers: 1,
    num_ready_workers: 1,
    num_open_requests: 0,
    num_conversations: 0,
    tokenizer_version: "abc",
    window: 8192,
    message: "",
    check_request_id: "req_1",
    checked_at: "2026-11-24T10:00:00Z",
    first_token_ms: 20.4,
    tokens_per_s: 41.6,
    text: "Hello.",
    ...changed,
  };
}

export function worker(changed: Partial<WorkerStatus> = {}): WorkerStatus {
  return {
    state: "ready",
    progress: "1",
    message: "",
    model: "small",
    tokenizer: "abc",
    num_places: 192,
    ...changed,
  };
}
