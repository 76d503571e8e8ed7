/** Lanes of a hub. */
export const LANE_NAMES = ['insert', 'claim', 'change', 'blobs', 'side'] as const;
export type LaneName = (typeof LANE_NAMES)[number];
