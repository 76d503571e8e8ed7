/** /docs shows the interface in a browser, and needs nothing from elsewhere. */
import { describe, expect, it } from 'vitest';
import { api, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { expectError } from '../support/interface/api.js';

hubForAllTests();

/** References of the page: every `src` and `href` in it. */
async function referencesOfPage(): Promise<string[]> {
  const { text } = await api.get('/docs');
  return [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, reference]) => `${reference}`);
}

it('/docs is an HTML page', async () => {
  const { status, headers, text } = await api.get('/docs');
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(text).toMatch(/^<!doctype html>/);
  expect(text).toContain('<title>Workbench Hub: REST interface</title>');
  expect(await referencesOfPage()).toHaveLength(4);
});

it('/docs loads only files of the hub, each with its type', async () => {
  const types: Record<string, string> = { css: 'text/css', js: 'text/javascript', png: 'image/png' };
  for (const reference of await referencesOfPage()) {
    expect(reference).toMatch(/^\/docs\/[\w.-]+$/);
    const { status, headers, text } = await api.get(reference);
    expect(status, reference).toBe(200);
    expect(headers.get('content-type')?.split(';')[0]).toBe(types[reference.split('.').at(-1) ?? '']);
    expect(text.length, reference).toBeGreaterThan(50);
  }
});

it('the style sheet of /docs loads nothing from other hosts', async () => {
  const { text } = await api.get('/docs/swagger-ui.css');
  const loaded = [...text.matchAll(/url\(\s*["']?([^"')]*)/g)].map(([, url]) => `${url}`);
  expect(loaded.filter((url) => !url.startsWith('data:'))).toEqual([]);
  expect(text).not.toMatch(/@import/);
});

it('/docs starts the viewer with the document of this hub and without the online validator', async () => {
  const { text } = await api.get('/docs/start.js');
  expect(text).toContain('url: "/openapi.json"');
  expect(text).toContain('validatorUrl: null');
  expect(text).not.toMatch(/https?:/);
});

describe.each(['/docs', '/docs/start.js', '/docs/swagger-ui.css'])('%s', (path) => {
  it('accepts only GET', async () => {
    expectError(await api.post(path, {}), 405, path, 'POST is not allowed here, only GET');
  });
});
