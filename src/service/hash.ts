/** Scrambles 32 bits, so that the results of neighbours have nothing in common; one to one. */
export function mix(bits: number): number {
  let hash = bits | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** 32 bits of a text; different salts give hashes that do not depend on each other. */
export function hashText(text: string, salt: number): number {
  let hash = mix(salt);
  for (let at = 0; at < text.length; at += 1)
    hash = mix(hash ^ Math.imul(text.charCodeAt(at) + 1, 0x9e3779b1));
  return hash;
}
