/** The switch that tints answers by surprise: one setting of this browser. */
const KEY = "sightglass-glass";

class GlassSetting {
  isOn = $state(saved());

  toggle(): void {
    this.isOn = !this.isOn;
    try {
      localStorage.setItem(KEY, this.isOn ? "on" : "off");
    } catch {
      // A page opened from a file may have no storage: the setting then holds while the page is open.
    }
  }
}

function saved(): boolean {
  try {
    return localStorage.getItem(KEY) === "on";
  } catch {
    return false;
  }
}

export const glass = new GlassSetting();
