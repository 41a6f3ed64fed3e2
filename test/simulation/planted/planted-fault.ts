/** A small bug, as a change of one place in the sources. */
export interface PlantedFault {
  readonly name: string;
  /** Below src. */
  readonly file: string;
  /** Occurs once there. */
  readonly find: string;
  readonly replace: string;
  /** Seeds that have caught it; others are tried after them. */
  readonly seeds: readonly number[];
  /** How long a run has to be to show it; default: short. */
  readonly hours?: number;
}
