const ISO_INSTANT = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/;

/** ISO 8601 with a zone to ms; `undefined` for anything else, 30 February included. */
export function parseIsoInstant(text: string): number | undefined {
  const parts = ISO_INSTANT.exec(text);
  if (parts === null) return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return undefined;
  const day = Number(parts[3]);
  // Date.parse rolls 30 February over into March; only days past the 28th can roll.
  if (day > 28 && day > new Date(Date.UTC(Number(parts[1]), Number(parts[2]), 0)).getUTCDate())
    return undefined;
  return ms;
}
