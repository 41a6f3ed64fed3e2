/** What an answer can be without hiding a row that nothing else can tell of, for `withFaults`. */
export const bearableFaults = (rate: number) => ({
  delay: rate,
  reset: rate,
  "429": rate,
  "5xx": rate,
  html: rate,
  errorBody: rate,
  cached: rate,
  empty: rate,
  emptyPage: rate,
  broken: rate / 3,
  duplicated: rate,
  shuffled: rate,
  loopingCursor: rate,
  cutOff: rate,
  noDate: rate,
});
