import type {
  NewInstanceInvalidation,
  NewRevisionInvalidation,
  NewTaskInvalidation,
} from './generated/types.gen.js';

/** Results that studies are not to reuse: of a task, of an instance, or of a version and revision of the workbench. */
export type NewInvalidation = NewTaskInvalidation | NewInstanceInvalidation | NewRevisionInvalidation;
