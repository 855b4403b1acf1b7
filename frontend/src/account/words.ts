/** Sign-ins in the words of the person who signed in. Pure. */
import type { SignIn, SignIns } from "../protocol/api";
import { counted } from "../trace/format";
import { momentText } from "../charts/moment";

/** "Firefox on Linux", with what is known. */
export function placeText({ browser, system }: Pick<SignIn, "browser" | "system">): string {
  return `${browser || "Unknown browser"}${system ? ` on ${system}` : ""}`;
}

/** The kept part of the address: "203.0.113.*". */
export function networkText(network: string): string {
  if (!network) return "unknown address";
  const [address = ""] = network.split("/");
  return `address ${address.includes(":") ? `${address.replace(/:+$/, "")}:*` : address.replace(/\d+$/, "*")}`;
}

/** Where and when, below the browser's name. */
export function detailText({ network, began_at, seen_at, is_this }: SignIn): string {
  const seen = is_this ? "in use now" : `last used ${momentText(seen_at)}`;
  return `Signed in ${momentText(began_at)} · ${seen} · ${networkText(network)}`;
}

const UNITS: [minutes: number, noun: string][] = [
  [24 * 60, "day"],
  [60, "hour"],
  [1, "minute"],
];

/** In the largest unit that leaves no rest: "3 days". */
export function minutesText(minutes: number): string {
  const [size, noun] = UNITS.find(([size]) => minutes % size === 0)!;
  return counted(minutes / size, noun);
}

export function limitsText({ idle_minutes, longest_minutes }: SignIns): string {
  return `Each ends by itself after ${minutesText(idle_minutes)} without use, and after ${minutesText(longest_minutes)} in any case.`;
}

export function endedText(num: number): string {
  if (num === 0) return "You were signed in nowhere else.";
  return num === 1 ? "You are signed out in one other place." : `You are signed out in ${num} other places.`;
}
