import type { Rows } from "./rows.js";

/*
 * The eight classics as loops over columns: no objects, no calls, no checks. Every loop computes each version of a
 * candle from what is committed, and commits the last one.
 */

/** Fills the columns, NaN where there is no value yet. */
export type Loop = (rows: Rows, out: readonly Float64Array[]) => void;

export function smaLoop(n: number): Loop {
  return ({ close, step }, [out]) => {
    let sum = 0;
    for (let start = 0; start < close.length; start += step) {
      const last = start + step - 1;
      const first = last - (n - 1) * step;
      for (let at = start; at <= last; at += 1) out![at] = first < 0 ? Number.NaN : (sum + close[at]!) / n;
      sum += close[last]! - (first < 0 ? 0 : close[first]!);
    }
  };
}

export function emaLoop(n: number): Loop {
  const weight = 2 / (n + 1);
  return ({ close, step }, [out]) => {
    let average = Number.NaN;
    let sum = 0;
    let count = 0;
    for (let start = 0; start < close.length; start += step) {
      const last = start + step - 1;
      count += 1;
      if (count > n) {
        for (let at = start; at <= last; at += 1) out![at] = average + weight * (close[at]! - average);
      } else {
        for (let at = start; at <= last; at += 1) out![at] = count < n ? Number.NaN : (sum + close[at]!) / n;
        sum += close[last]!;
      }
      average = out![last]!;
    }
  };
}

export function rsiLoop(n: number): Loop {
  return ({ close, step }, [out]) => {
    let previous = Number.NaN;
    let up = 0;
    let down = 0;
    let count = 0;
    for (let start = 0; start < close.length; start += step) {
      const last = start + step - 1;
      const keep = count > n ? (n - 1) / n : 1;
      let nextUp = 0;
      let nextDown = 0;
      for (let at = start; at <= last; at += 1) {
        const change = count === 0 ? 0 : close[at]! - previous;
        nextUp = keep * up + Math.max(change, 0) / n;
        nextDown = keep * down + Math.max(-change, 0) / n;
        const total = nextUp + nextDown;
        out![at] = count < n ? Number.NaN : total === 0 ? 50 : (100 * nextUp) / total;
      }
      previous = close[last]!;
      up = nextUp;
      down = nextDown;
      count += 1;
    }
  };
}

export function macdLoop(fast: number, slow: number, signal: number): Loop {
  const [fastWeight, slowWeight, signalWeight] = [2 / (fast + 1), 2 / (slow + 1), 2 / (signal + 1)];
  return ({ close, step }, [lines, signals, histograms]) => {
    // Before an average begins, its place is taken by the part of the mean it begins as.
    let fastAverage = 0;
    let slowAverage = 0;
    let signalAverage = 0;
    let count = 0;
    for (let start = 0; start < close.length; start += step) {
      const last = start + step - 1;
      count += 1;
      let nextFast = 0;
      let nextSlow = 0;
      let nextSignal = 0;
      for (let at = start; at <= last; at += 1) {
        const price = close[at]!;
        nextFast =
          count > fast ? fastAverage + fastWeight * (price - fastAverage) : fastAverage + price / fast;
        nextSlow =
          count > slow ? slowAverage + slowWeight * (price - slowAverage) : slowAverage + price / slow;
        const line = nextFast - nextSlow;
        const signalCount = count - slow + 1;
        nextSignal =
          signalCount > signal
            ? signalAverage + signalWeight * (line - signalAverage)
            : signalAverage + (signalCount > 0 ? line / signal : 0);
        const isWarm = signalCount >= signal;
        lines![at] = isWarm ? line : Number.NaN;
        signals![at] = isWarm ? nextSignal : Number.NaN;
        histograms![at] = isWarm ? line - nextSignal : Number.NaN;
      }
      fastAverage = nextFast;
      slowAverage = nextSlow;
      signalAverage = nextSignal;
    }
  };
}

export function bollingerLoop(n: number, k: number): Loop {
  return ({ close, step }, [upper, middle, lower, percentB, width]) => {
    let sum = 0;
    let squares = 0;
    for (let start = 0; start < close.length; start += step) {
      const last = start + step - 1;
      const first = last - (n - 1) * step;
      for (let at = start; at <= last; at += 1) {
        const price = close[at]!;
        const mean = first < 0 ? Number.NaN : (sum + price) / n;
        const reach = k * Math.sqrt(Math.max(0, (squares + price * price) / n - mean * mean));
        upper![at] = mean + reach;
        middle![at] = mean;
        lower![at] = mean - reach;
        percentB![at] = reach === 0 ? 0.5 : 0.5 + (price - mean) / (2 * reach);
        width![at] = (2 * reach) / mean;
      }
      const newest = close[last]!;
      const oldest = first < 0 ? 0 : close[first]!;
      sum += newest - oldest;
      squares += newest * newest - oldest * oldest;
    }
  };
}

export function atrLoop(n: number): Loop {
  return ({ high, low, close, step }, [out]) => {
    let previous = Number.NaN;
    let average = 0;
    let count = 0;
    for (let start = 0; start < close.length; start += step) {
      const last = start + step - 1;
      const keep = count > n ? (n - 1) / n : 1;
      let next = 0;
      for (let at = start; at <= last; at += 1) {
        const range = count === 0 ? 0 : Math.max(high[at]!, previous) - Math.min(low[at]!, previous);
        next = keep * average + range / n;
        out![at] = count < n ? Number.NaN : next;
      }
      previous = close[last]!;
      average = next;
      count += 1;
    }
  };
}

/**
 * Smoothed over three candles, and over three again. The window is looked through again, as TA-Lib does it, only where
 * its extreme has left it.
 */
export function stochasticLoop(n: number): Loop {
  return ({ high, low, close, step }, [ks, ds]) => {
    let raw1 = Number.NaN;
    let raw2 = Number.NaN;
    let k1 = Number.NaN;
    let k2 = Number.NaN;
    let top = Number.NaN;
    let topAt = -1;
    let bottom = Number.NaN;
    let bottomAt = -1;
    for (let start = 0; start < close.length; start += step) {
      const last = start + step - 1;
      const first = last - (n - 1) * step;
      const newest = Math.max(0, start - 1);
      if (first >= 0 && topAt < first) {
        top = Number.NEGATIVE_INFINITY;
        for (let at = first; at < start; at += step) {
          if (high[at]! < top) continue;
          top = high[at]!;
          topAt = at;
        }
      } else if (high[newest]! >= top) {
        top = high[newest]!;
        topAt = newest;
      }
      if (first >= 0 && bottomAt < first) {
        bottom = Number.POSITIVE_INFINITY;
        for (let at = first; at < start; at += step) {
          if (low[at]! > bottom) continue;
          bottom = low[at]!;
          bottomAt = at;
        }
      } else if (low[newest]! <= bottom) {
        bottom = low[newest]!;
        bottomAt = newest;
      }
      let raw = 0;
      let k = 0;
      for (let at = start; at <= last; at += 1) {
        const floor = Math.min(bottom, low[at]!);
        const range = Math.max(top, high[at]!) - floor;
        raw = range === 0 ? 50 : (100 * (close[at]! - floor)) / range;
        k = (raw2 + raw1 + raw) / 3;
        ks![at] = k;
        ds![at] = (k2 + k1 + k) / 3;
      }
      raw2 = raw1;
      raw1 = raw;
      k2 = k1;
      k1 = k;
    }
  };
}

export function adxLoop(n: number): Loop {
  return ({ high, low, close, step }, [adx, plusDi, minusDi]) => {
    let previousHigh = Number.NaN;
    let previousLow = Number.NaN;
    let previousClose = Number.NaN;
    let range = 0;
    let plus = 0;
    let minus = 0;
    let average = 0;
    let count = 0;
    for (let start = 0; start < close.length; start += step) {
      const last = start + step - 1;
      const keep = count > n ? (n - 1) / n : 1;
      const averageKeep = count > 2 * n - 1 ? (n - 1) / n : 1;
      let nextRange = 0;
      let nextPlus = 0;
      let nextMinus = 0;
      let nextAverage = 0;
      for (let at = start; at <= last && count > 0; at += 1) {
        const up = high[at]! - previousHigh;
        const down = previousLow - low[at]!;
        const trueRange = Math.max(high[at]!, previousClose) - Math.min(low[at]!, previousClose);
        nextRange = keep * range + trueRange;
        nextPlus = keep * plus + (up > down && up > 0 ? up : 0);
        nextMinus = keep * minus + (down > up && down > 0 ? down : 0);
        const total = nextPlus + nextMinus;
        const direction = total === 0 ? 0 : (100 * Math.abs(nextPlus - nextMinus)) / total;
        nextAverage = averageKeep * average + (count < n ? 0 : direction / n);
        const isWarm = count >= 2 * n - 1;
        adx![at] = isWarm ? nextAverage : Number.NaN;
        plusDi![at] = isWarm ? (100 * nextPlus) / nextRange : Number.NaN;
        minusDi![at] = isWarm ? (100 * nextMinus) / nextRange : Number.NaN;
      }
      previousHigh = high[last]!;
      previousLow = low[last]!;
      previousClose = close[last]!;
      range = nextRange;
      plus = nextPlus;
      minus = nextMinus;
      average = nextAverage;
      count += 1;
    }
  };
}
