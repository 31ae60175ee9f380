/** Finds places for the words beside the marks of a line, so that no word covers another one. */

/** A mark with its words. */
export interface Labelled {
  readonly left: number;
  readonly top: number;
  readonly text: string;
}

/** Where words stand: the place and `text-anchor` of an SVG text. */
export interface LabelPlace {
  readonly x: number;
  readonly y: number;
  readonly anchor: 'start' | 'middle' | 'end';
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Sizes of text of 12 pixels: the width of a digit, and how far it rises above its line. */
const letter = { width: 7, rise: 10 } as const;
/** The space between two words, so that they do not read as one. */
const space = 6;
/** Half of a mark, with a margin. */
const mark = 4;

/**
 * Places the words one after the other: above their mark, below it, to the right, or to the left. Where all are taken, they
 * stand above.
 *
 * @param area - Where words may be.
 */
export function placeLabels(marks: readonly Labelled[], area: Box): readonly LabelPlace[] {
  const taken: Box[] = marks.map(({ left, top }) => ({
    left: left - mark,
    right: left + mark,
    top: top - mark,
    bottom: top + mark,
  }));
  return marks.map(({ left, top, text }) => {
    const ways: readonly [LabelPlace, ...LabelPlace[]] = [
      { x: left, y: top - 8, anchor: 'middle' },
      { x: left, y: top + 18, anchor: 'middle' },
      { x: left + 9, y: top + 4, anchor: 'start' },
      { x: left - 9, y: top + 4, anchor: 'end' },
    ];
    const place =
      ways.find((way) => {
        const box = boxOf(way, text);
        return isWithin(box, area) && !taken.some((other) => overlaps(box, other));
      }) ?? ways[0];
    taken.push(boxOf(place, text));
    return place;
  });
}

function boxOf({ x, y, anchor }: LabelPlace, text: string): Box {
  const width = text.length * letter.width;
  const left = anchor === 'middle' ? x - width / 2 : anchor === 'end' ? x - width : x;
  return { left: left - space / 2, right: left + width + space / 2, top: y - letter.rise, bottom: y };
}

function isWithin(box: Box, area: Box): boolean {
  return box.left >= area.left && box.right <= area.right && box.top >= area.top && box.bottom <= area.bottom;
}

function overlaps(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
