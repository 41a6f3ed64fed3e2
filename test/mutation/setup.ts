import fc from "fast-check";

// One seed, so that two runs give the same figures; a mutant that has failed needs no smaller example.
fc.configureGlobal({ seed: 1, endOnFailure: true });
