import { expect, it } from "vitest";
import { endedText, limitsText, minutesText, networkText, placeText } from "./words";

it.each([
  ["Firefox", "Linux", "Firefox on Linux"],
  ["", "Linux", "Unknown browser on Linux"],
  ["curl", "", "curl"],
  ["", "", "Unknown browser"],
])("names %s and %s", (browser, system, text) => expect(placeText({ browser, system })).toBe(text));

it.each([
  ["203.0.113.0/24", "address 203.0.113.*"],
  ["2001:db8:1::/48", "address 2001:db8:1:*"],
  ["", "unknown address"],
])("shows the network %s", (network, text) => expect(networkText(network)).toBe(text));

it.each([
  [4320, "3 days"],
  [1440, "1 day"],
  [90, "90 minutes"],
  [120, "2 hours"],
])("tells %i minutes", (minutes, text) => expect(minutesText(minutes)).toBe(text));

it("tells the limits", () =>
  expect(limitsText({ sign_ins: [], idle_minutes: 60, longest_minutes: 20160, has_password: false })).toBe(
    "Each ends by itself after 1 hour without use, and after 14 days in any case.",
  ));

it("tells what was ended", () =>
  expect([0, 1, 2].map(endedText)).toEqual([
    "You were signed in nowhere else.",
    "You are signed out in one other place.",
    "You are signed out in 2 other places.",
  ]));
