/** A saved trace in a file of its own: its events stand in the page, and nothing is asked of a server. */
import "./theme/theme.css";
import { mount } from "svelte";
import ReplayPage from "./inspector/ReplayPage.svelte";
import type { Shared } from "./inspector/shared";
import type { Frame } from "./protocol/events";

interface Saved {
  title: string;
  frames: Frame[];
  /** The link's data, where the page was opened by one. */
  shared?: Shared;
}

const media = matchMedia("(prefers-color-scheme: dark)");
const applyScheme = () => (document.documentElement.dataset.theme = media.matches ? "dark" : "light");
applyScheme();
media.addEventListener("change", applyScheme);
addEventListener("beforeprint", () => (document.documentElement.dataset.theme = "light"));
addEventListener("afterprint", applyScheme);

const { title, frames, shared } = JSON.parse(document.getElementById("trace")!.textContent!) as Saved;
mount(ReplayPage, { target: document.getElementById("app")!, props: { title, frames, shared } });
