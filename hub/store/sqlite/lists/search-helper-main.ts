/** A thread that holds the texts of some of the segments. */
import { workerData } from 'node:worker_threads';
import type { FromSearchHelper, SearchHelperData, ToSearchHelper } from './search-helper.js';
import { type SegmentTexts, TextSearch } from './segment-texts.js';

const { port, answers } = workerData as SearchHelperData;
const held = new Map<number, SegmentTexts>();

port.on('message', (message: ToSearchHelper) => {
  switch (message.kind) {
    case 'hold':
      held.set(message.segment, message.texts);
      return;
    case 'forget':
      held.delete(message.segment);
      return;
    case 'search': {
      const search = new TextSearch(message.filter);
      const found = message.segments.flatMap((segment) => {
        const texts = held.get(segment);
        return texts ? [search.in(texts)] : [];
      });
      const answer: FromSearchHelper = { call: message.call, found };
      port.postMessage(answer);
      Atomics.add(answers, 0, 1);
      Atomics.notify(answers, 0);
    }
  }
});
