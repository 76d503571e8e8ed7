/** A thread of {@link runSeeds}. */
import { parentPort, workerData } from 'node:worker_threads';
import { BREAKAGES } from './breakages.js';
import type { ThreadSeeds } from './run-seeds.js';
import { simulate } from './simulation.js';

const { from, to, step, broken, store, hubs, hasStudies } = workerData as ThreadSeeds;
const breakage = BREAKAGES.find(({ name }) => name === broken);
for (let seed = from; seed < to; seed += step)
  parentPort?.postMessage(await simulate({ seed, breakage, store, hubs, hasStudies }));
