import "@fontsource-variable/inter";
import "@fontsource-variable/jetbrains-mono";
import "./theme/theme.css";
import { mount } from "svelte";
import App from "./app/App.svelte";

mount(App, { target: document.getElementById("app")! });
