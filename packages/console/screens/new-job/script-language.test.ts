import { expect, it } from 'vitest';
import { interpreterIn, likelyProgram, scriptFor } from './script-language.js';

it.each([
  ['report.py', 'python3'],
  ['RUN.SH', 'sh'],
  ['fit.R', 'Rscript'],
  ['run.js', 'own'],
  ['script-1', 'own'],
])('runs %s with %s', (path, program) => {
  expect(likelyProgram(path)).toBe(program);
});

it('finds the interpreter of a first line', () => {
  expect(interpreterIn('#!/usr/bin/env python3\r\nprint()')).toBe('/usr/bin/env python3');
  expect(interpreterIn('#! /bin/sh -e \n')).toBe('/bin/sh -e');
  expect(interpreterIn('#!\nprint()')).toBeUndefined();
  expect(interpreterIn('print("#!/bin/sh")')).toBeUndefined();
});

it('adds a first line where there is none, and only there', async () => {
  const text = async (script: string, program: 'python3' | 'own') =>
    (await scriptFor(new Blob([script]), program)).text();
  expect(await text('print(1)', 'python3')).toBe('#!/usr/bin/env python3\nprint(1)');
  expect(await text('#!/usr/bin/python3.9\nprint(1)', 'python3')).toBe('#!/usr/bin/python3.9\nprint(1)');
  expect(await text('print(1)', 'own')).toBe('print(1)');
});
