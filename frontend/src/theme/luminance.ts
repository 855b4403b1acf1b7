/** The text colour that can be read on a colour: by its real luminance, since a hue is lighter in the dark theme. */

/** As WCAG 2.2 defines it; channels from 0 to 255. */
export function luminance([red, green, blue]: readonly number[]): number {
  const linear = (channel: number) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(red!) + 0.7152 * linear(green!) + 0.0722 * linear(blue!);
}

export function contrast(a: readonly number[], b: readonly number[]): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light! + 0.05) / (dark! + 0.05);
}

export const BLACK = [16, 18, 20] as const;
export const WHITE = [255, 255, 255] as const;

export function textOn(color: readonly number[]): string {
  const [red, green, blue] = contrast(color, BLACK) >= contrast(color, WHITE) ? BLACK : WHITE;
  return `rgb(${red} ${green} ${blue})`;
}
