/** Processor of BullMQ's sandboxed worker, which runs it in a child process for each slot. */
import type { SandboxedJob } from 'bullmq';
import type { LoadTask } from '../load/dialects.js';
import { executeInFolder } from './execute-in-folder.js';

/** @public Called by BullMQ. */
// biome-ignore lint/style/noDefaultExport: BullMQ calls the default export.
export default ({ data }: SandboxedJob<LoadTask>) => executeInFolder(data.kind);
