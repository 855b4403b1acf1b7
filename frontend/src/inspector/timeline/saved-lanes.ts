/**
 * The timeline's lanes as they were left: collapsed or open, and their height. A page without storage (an exported one in a frame of its own
 * origin) starts from the defaults each time.
 */

const KEY = "sightglass-timeline";
const HEIGHT_KEY = "sightglass-timeline-height";
/** The strip of scenes is the timeline for readers who did not open the lanes; px. */
const HEIGHT = 168;

export const savedIsCollapsed = (): boolean => read(KEY) !== "open";

export function saveIsCollapsed(isCollapsed: boolean): void {
  write(KEY, isCollapsed ? "collapsed" : "open");
}

export const savedHeight = (): number => Number(read(HEIGHT_KEY)) || HEIGHT;

export function saveHeight(px: number): void {
  write(HEIGHT_KEY, String(px));
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // It holds all the same, as long as the page is open.
  }
}
