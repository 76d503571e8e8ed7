/** Lanes of a hub. */
export const LANE_NAMES = ['insert', 'claim', 'change', 'blobs', 'side'] as const;
export type LaneName = (typeof LANE_NAMES)[number];

/** Name of the one hub of a database, which keeps its lanes. */
export const HUB = 'hub';
