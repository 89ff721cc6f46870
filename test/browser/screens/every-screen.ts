/** A phone, a tablet and a desktop, each in both schemes: tests of what the page promises on all of them. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { FULL_ONLY, type LONG_ONLY } from '../../scale.ts';
import { browserTest } from '../browser.ts';

const SIZES = {
  phone: { width: 390, height: 844 },
  tablet: { width: 768, height: 1024 },
  desktop: { width: 1280, height: 860 },
} as const;
type Size = keyof typeof SIZES;
type Scheme = 'light' | 'dark';

/** Can be given to `openPage` as it is. */
export interface Screen {
  readonly size: Size;
  readonly viewport: (typeof SIZES)[Size];
  readonly colorScheme: Scheme;
}

function screenOf(size: Size, colorScheme: Scheme): Screen {
  return { size, viewport: SIZES[size], colorScheme };
}

/** Others in size and scheme from one to the next. */
const SCREENS: readonly Screen[] = [
  screenOf('phone', 'light'),
  screenOf('tablet', 'dark'),
  screenOf('desktop', 'light'),
  screenOf('phone', 'dark'),
  screenOf('tablet', 'light'),
  screenOf('desktop', 'dark'),
];

/** Long enough for all tests of a file on all screens. */
export const FILE_MS_MAX = 600_000;

let declared = 0;

/** A test on every screen in the full run; the long run has one of them, another from test to test. */
export function screenTest(
  name: string,
  run: (screen: Screen, context: TestContext) => Promise<void>,
  isLong: typeof LONG_ONLY,
): void {
  const turn = declared++ % SCREENS.length;
  for (const [index, screen] of SCREENS.entries()) {
    const title = `${name}: ${screen.size}, ${screen.colorScheme}`;
    const options = index === turn ? isLong : FULL_ONLY;
    browserTest(title, (context) => run(screen, context), options);
  }
}

/** On a phone the chooser of accounts and dexes is folded. */
export async function unfoldChooser(page: Page): Promise<void> {
  const toggle = page.getByRole('button', { name: 'Other account or dex…' });
  if (await toggle.isVisible()) await toggle.click();
}

/** Nothing of it is beyond the sides of the screen, or cut off by its own box. */
export async function assertInSight(locator: Locator): Promise<void> {
  await locator.scrollIntoViewIfNeeded();
  const found = await locator.evaluate((element) => {
    const { left, right, width, height } = element.getBoundingClientRect();
    const { scrollWidth, clientWidth } = element;
    const isCut = clientWidth > 0 && scrollWidth > clientWidth;
    return { left, right, width, height, isCut, edge: document.documentElement.clientWidth };
  });
  const text = `${await locator.innerText()}: ${JSON.stringify(found)}`;
  assert.ok(found.width > 0 && found.height > 0 && !found.isCut, text);
  assert.ok(found.left >= 0 && found.right <= found.edge + 1, text);
}

/** What the page gives a name in the scheme that is shown, as the browser writes colours. */
const COLOURS = {
  light: { gain: 'rgb(10, 110, 67)', loss: 'rgb(179, 32, 44)', warn: 'rgb(138, 83, 0)' },
  dark: { gain: 'rgb(76, 201, 140)', loss: 'rgb(255, 139, 139)', warn: 'rgb(240, 179, 90)' },
} as const;

export async function assertTone(
  locator: Locator,
  { colorScheme }: Screen,
  tone: keyof (typeof COLOURS)['light'],
): Promise<void> {
  const colour = await locator.evaluate((element) => getComputedStyle(element).color);
  assert.equal(colour, COLOURS[colorScheme][tone]);
}
