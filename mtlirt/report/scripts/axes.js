// Scales and their ticks.

// Round numbers that divide an interval into about so many parts.
function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((times) => times * power >= rough) * power;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) {
    found.push(Number((k * step).toPrecision(12)));
  }
  return found;
}

// Powers of ten inside an interval, every so many where there are many.
function powers(low, high, count) {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const step = Math.max(1, Math.ceil((last - first) / count));
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, k) => 10 ** (first + k * step));
}

// From values to places, kept within the ends.
function scale(low, high, from, to) {
  const reach = high - low || 1;
  return (value) => from + (to - from) * Math.min(Math.max((value - low) / reach, 0), 1);
}

function tickText(value) {
  const size = Math.abs(value);
  if (size !== 0 && size < 1e-3) return value.toExponential(0);
  if (size >= 1e5) return value.toLocaleString("en-US", { notation: "compact", maximumSignificantDigits: 5 });
  return value.toLocaleString("en-US", { maximumFractionDigits: 4 });
}
