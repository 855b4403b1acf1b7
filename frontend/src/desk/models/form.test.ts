import { expect, it } from "vitest";
import { ApiError } from "../../transport/api";
import { model } from "./fixtures";
import { ModelForm } from "./form.svelte";

it("sends a server's address and key of a remote model alone", () => {
  const form = new ModelForm();
  expect(form.body).toBeNull();
  Object.assign(form, { kind: "remote", path: " /m/Big.gguf ", url: "http://host:1 ", key: "secret" });
  const common = { id: "big", path: "/m/Big.gguf", num_workers: 1 };
  expect(form.body).toEqual({
    ...common,
    kind: "remote",
    url: "http://host:1",
    key: "secret",
    has_vision: false,
  });
  form.kind = "gguf";
  expect(form.body).toEqual({ ...common, kind: "gguf" });
});

it("keeps an id that was typed when the path changes", () => {
  const form = new ModelForm();
  form.path = "/m/one.gguf";
  expect(form.id).toBe("one");
  form.id = "mine";
  form.path = "/m/two.gguf";
  expect(form.id).toBe("mine");
});

it("sends only what is other than before, and a key only where one is entered or removed", () => {
  const before = model({ kind: "remote", url: "http://host:1", has_key: true });
  const form = new ModelForm(before);
  expect(form.changeOf(before)).toEqual({});
  form.num_workers = 2;
  expect(form.changeOf(before)).toEqual({ num_workers: 2 });
  form.key = "new";
  expect(form.changeOf(before)).toEqual({ num_workers: 2, key: "new" });
  form.isKeyRemoved = true;
  expect(form.changeOf(before)).toEqual({ num_workers: 2, key: "" });
  form.hasVision = true;
  expect(form.changeOf(before)).toEqual({ num_workers: 2, key: "", has_vision: true });
});

it("shows every problem that the server names", async () => {
  const form = new ModelForm();
  const id = { message: "An id has letters.", field: "id" };
  const path = { message: "The path has two dots.", field: "path" };
  const problem = { code: "invalid", ...id, problems: [id, path] };
  await form.submit(() => Promise.reject(new ApiError(400, problem as ApiError["problem"])));
  expect(form.refusals).toEqual({ id: id.message, path: path.message });
});

it("puts each refusal at its field, and any other at the foot", async () => {
  const form = new ModelForm();
  const refuse = (problem: object) =>
    form.submit(() => Promise.reject(new ApiError(400, problem as ApiError["problem"])));
  form.path = "/m/one.gguf";
  expect(await refuse({ code: "invalid", message: "No such file.", field: "path" })).toBe(false);
  expect([form.isWrong("path"), form.isWrong(""), form.isBusy]).toEqual([true, false, false]);
  await refuse({ code: "cannot_change", message: "It is the default." });
  expect(form.refusals).toEqual({ "": "It is the default." });
  expect(await form.submit(() => Promise.resolve())).toBe(true);
  expect(form.refusals).toEqual({});
});
