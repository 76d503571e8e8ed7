import { describe, expect, it } from 'vitest';
import { isWithin, webhookAddress } from './webhook-addresses.js';

describe('the address of a webhook', () => {
  it.each([
    'https://ci.example.org',
    'https://CI.example.org:443/a',
    'http://10.0.0.1:8080/a/b?c=%2F',
    'https://[fd00::1]/a',
    'https://ci.example.org/a%20b/1.2/x;y=z',
  ])('may be %s', (text) => {
    expect(webhookAddress(text)).toBeInstanceOf(URL);
  });

  it.each([
    '',
    'ci.example.org',
    '//ci.example.org',
    'ftp://ci.example.org',
    'file:///etc/passwd',
    'javascript:1',
    'https://a:b@ci.example.org',
    'https://a@ci.example.org',
    'https://ci.example.org/#a',
    'https://ci.example.org/#',
    'https://ci.example.org/a%2Fb',
    'https://ci.example.org/a%5cb',
    'https://ci.example.org/a%25252fb',
    'https://ci.example.org/%252e%252e/b',
    'https://ci.example.org/..;/b',
    `https://ci.example.org/${'x'.repeat(2000)}`,
  ])('must not be %s', (text) => {
    expect(webhookAddress(text)).toBeUndefined();
  });

  it.each([
    ['https://a.example/hooks', 'https://a.example/hooks', true],
    ['https://a.example/hooks', 'https://A.example:443/hooks/x?y', true],
    ['https://a.example/hooks/', 'https://a.example/hooks/x', true],
    ['https://a.example', 'https://a.example/x', true],
    ['https://a.example/hooks', 'https://a.example/hooksx', false],
    ['https://a.example/hooks/', 'https://a.example/hooks', false],
    ['https://a.example/hooks', 'https://a.example/hooks/../x', false],
    ['https://a.example/hooks', 'https://a.example/Hooks', false],
    ['https://a.example', 'http://a.example', false],
    ['https://a.example', 'https://a.example:8443', false],
    ['https://a.example', 'https://a.example.org', false],
    ['https://a.example', 'https://b.a.example', false],
  ])('below %s: %s is %s', (allowed, text, expected) => {
    expect(isWithin(new URL(text), new URL(allowed))).toBe(expected);
  });
});
