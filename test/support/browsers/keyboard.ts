/** A reader without a mouse. */
import type { Locator, Page } from 'playwright-core';

const MOST_PRESSES = 150;

/** Presses Tab, or another key, until this element has the focus. */
export async function tabTo(page: Page, wanted: Locator, key = 'Tab'): Promise<void> {
  await wanted.first().waitFor({ state: 'attached' });
  for (let press = 0; press < MOST_PRESSES; press++) {
    await page.keyboard.press(key);
    if ((await wanted.and(page.locator(':focus')).count()) > 0) return;
  }
  throw new Error(`no way to ${wanted} by ${key}`);
}

/** Opens the command palette, and waits until it has the focus, which it gets a moment after it is shown. */
export async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('combobox').and(page.locator(':focus')).waitFor();
}

/** Goes to a screen by the command palette. */
export async function goTo(page: Page, screen: string): Promise<void> {
  await openPalette(page);
  await page.keyboard.type(screen);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: screen, exact: true }).waitFor();
  // Its end gives the focus back.
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

/** Pastes a text into what has the focus, as Ctrl+V does with the clipboard of a spreadsheet. */
export async function paste(page: Page, text: string): Promise<void> {
  await page.evaluate(`{
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', ${JSON.stringify(text)});
    document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }`);
}
