/** A thread that holds and searches the texts of some segments. */
import { workerData } from 'node:worker_threads';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import type { FromSearchHelper, SearchHelperData, ToSearchHelper } from './search-helper.js';
import { type SegmentTexts, searchForOneTurn, TextSearches } from './segment-texts.js';

const { port } = workerData as SearchHelperData;
const held = new Map<number, SegmentTexts>();
const searches = new TextSearches();

port.on('message', (message: ToSearchHelper) => {
  switch (message.kind) {
    case 'hold':
      held.set(message.segment, message.texts);
      return;
    case 'forget':
      held.delete(message.segment);
      return;
    case 'search': {
      const texts = message.segments.flatMap((segment) => held.get(segment) ?? []);
      const found = searchForOneTurn(searches.by(message.filter), texts, systemRuntime.clock);
      port.postMessage({ call: message.call, found } satisfies FromSearchHelper);
    }
  }
});
