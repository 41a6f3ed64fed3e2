import type { NatsConnection } from "@nats-io/transport-node";

/** A version of the servers. */
export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly micro: number;
}

export const V2_9: Version = { major: 2, minor: 9, micro: 10 };
export const V2_10: Version = { major: 2, minor: 10, micro: 27 };
export const V2_15: Version = { major: 2, minor: 15, micro: 1 };
/** Whether a version is 2.`minor`.`micro` or a later one. */
export function isFrom(version: Version, minor: number, micro = 0): boolean {
  const { major, ...its } = version;
  return major > 2 || its.minor > minor || (its.minor === minor && its.micro >= micro);
}
/** The version of the servers at the other end. */
export function versionOf({ info }: NatsConnection): Version {
  const [major, minor, micro] = info!.version.split(".").map(Number);
  return { major: major!, minor: minor!, micro: micro! };
}
export const nameOf = ({ major, minor, micro }: Version) => `${major}.${minor}.${micro}`;
/** The versions that the model is compared with. */
export const VERSIONS = [V2_9, V2_10, V2_15];
