// The player of flood and drip, in the browser.
//
// The drawing is an SVG made by kitchenlib/plots/flood.py, sent once with the schedule of the film
// and the list of what moves. Here is only the arithmetic that must run many times a second, the
// same as in kitchenlib/film.py (stateAt) and kitchenlib/plots/vector.py (follow, row), and the
// controls. A test holds the two against each other.

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

// How many of the rising `knots` are at most x.
function passed(knots, x) {
  let low = 0;
  let high = knots.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (knots[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

function side(track, t) {
  const { times } = track;
  const last = times.length - 1;
  const passes = clamp(passed(times, t) - 1, 0, last);
  const clock = clamp(t - times[0], 0, times[last] - times[0]);
  const running = times[0] <= t && t < times[last];
  let progress = passes === last ? 1 : 0;
  if (running) progress = (t - times[passes]) / (times[passes + 1] - times[passes]);
  const soFar = (knots) =>
    running ? knots[passes] + progress * (knots[passes + 1] - knots[passes]) : knots[passes];
  const share = (knots) => {
    if (clock) return soFar(knots) / clock;
    return running ? knots[1] / (times[1] - times[0]) : 0;
  };
  return {
    running: Number(running),
    trips: passes + Number(running),
    passes,
    progress,
    clock,
    tokens: 0,
    bytes: soFar(track.bytes),
    flops: soFar(track.flops),
    chef: share(track.chef),
    waiter: share(track.waiter),
  };
}

export function stateAt(film, t) {
  const { times } = film.drip;
  const ttft = times[0];
  const now = clamp(t, 0, times[times.length - 1]);
  const flood = side(film.flood, now);
  const drip = side(film.drip, now);
  flood.tokens = film.prompt * flood.passes;
  drip.tokens = (1 + drip.passes) * flood.passes;
  const tpot = drip.passes ? (times[drip.passes] - ttft) / drip.passes : 0;
  return { t: now, flood, drip, ttft: Math.min(now, ttft), tpot };
}

// The state's numbers by the names that the motions know them by.
export function channels(state, quick) {
  const named = { t: state.t, ttft: state.ttft, tpot: state.tpot };
  ["flood", "drip"].forEach((name, i) => {
    for (const [key, value] of Object.entries(state[name])) named[`${name}.${key}`] = value;
    named[`${name}.quick`] = Number(quick[i]);
  });
  return named;
}

// The two values of a motion at x of its channel.
export function follow(motion, x) {
  const { knots, values, stepped } = motion;
  const after = passed(knots, x);
  if (after === 0) return values[0];
  if (after === knots.length || stepped) return values[after - 1];
  const share = (x - knots[after - 1]) / (knots[after] - knots[after - 1]);
  const [from, to] = [values[after - 1], values[after]];
  return [from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1])];
}

// The row of a reel of digits at x of its channel: 0 to 9, or 10, which is blank.
export function row(reel, x) {
  const number = Math.floor(x / reel.quantum + 0.5);
  const rest = Math.floor(number / 10 ** reel.place);
  return rest || reel.place < reel.least ? rest % 10 : 10;
}

const short = (x) => String(+x.toFixed(3));

// What moves in the SVG: put every part where the channels say.
function mover(svg, motions) {
  const parts = motions.map((motion) => ({
    motion,
    element: svg.getElementById(motion.id),
    name: motion.how === "fade" ? "opacity" : "transform",
    last: "",
  }));
  return (named) => {
    for (const part of parts) {
      const { motion } = part;
      const x = named[motion.of];
      let text;
      if (motion.how === "reel") {
        text = `translate(0 ${short(-row(motion, x) * motion.line)})`;
      } else {
        const [a, b] = follow(motion, x);
        if (motion.how === "fade") text = short(a);
        else text = `${motion.how === "move" ? "translate" : "scale"}(${short(a)} ${short(b)})`;
      }
      if (text !== part.last) {
        part.element.setAttribute(part.name, text);
        if (part.name === "opacity") {
          part.element.style.display = text === "0" ? "none" : "";
        }
        part.last = text;
      }
    }
  };
}

const PAGE = `
  <div class="stage"><div class="picture"></div>
    <input class="scrub" type="range" min="0" aria-label="Time" data-lm-suppress-shortcuts="true">
  </div>
  <div class="controls">
    <button class="play" type="button" data-lm-suppress-shortcuts="true"></button>
    <button class="back" type="button" aria-label="Step back to the event before"
      data-lm-suppress-shortcuts="true">◀<span> Back</span></button>
    <button class="step" type="button" aria-label="Step to the next event"
      data-lm-suppress-shortcuts="true"><span>Step </span>▶</button>
    <label>Time scale <select class="pace" data-lm-suppress-shortcuts="true"></select></label>
  </div>
  <p class="notes"></p>
  <ol class="log" tabindex="0" aria-label="What has happened so far"
    data-lm-suppress-shortcuts="true"></ol>
  <p class="keys">Space plays and pauses, ← and → step from event to event, Page Up and Page Down
    go by a fiftieth, Home and End to the ends.</p>
  <p class="said" role="status" aria-live="polite"></p>`;

const THUMB = 16; // pixels, as in player.css
const REACH = 14; // pixels of the drawing above and below the timeline that take the mouse too

// The native slider lies, unseen, over the drawn timeline; the middle of its thumb is the needle.
function lay(scrub, [left, top, wide, high], [width, height]) {
  const style = {
    left: `calc(${(100 * left) / width}% - ${THUMB / 2}px)`,
    width: `calc(${(100 * wide) / width}% + ${THUMB}px)`,
    top: `${(100 * (top - REACH)) / height}%`,
    height: `${(100 * (high + 2 * REACH)) / height}%`,
  };
  Object.assign(scrub.style, style);
}

const LINES = 200; // of the log: a page need not hold thousands
const SAY_EVERY = 2500; // milliseconds between announcements while the film plays
const STEP_EVERY = 1200; // milliseconds between events where less motion is asked for

function player(root, film, sheet) {
  root.innerHTML = `<style>${sheet}</style>
    <div class="player" role="group" data-lm-suppress-shortcuts="true">${PAGE}</div>`;
  const find = (name) => root.querySelector(`.${name}`);
  const [box, scrub, play, pace, log] = ["player", "scrub", "play", "pace", "log"].map(find);
  const end = film.drip.times[film.drip.times.length - 1];
  const times = film.events.map(([t]) => t);
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

  find("picture").innerHTML = film.svg;
  const svg = find("picture").firstElementChild;
  svg.querySelector("title").remove(); // it would pop up over the picture
  svg.setAttribute("aria-label", `${film.title}. The log below says what happens.`);
  box.setAttribute("aria-label", `Player: ${film.title}`);
  lay(scrub, film.timeline, film.size);
  scrub.max = end;
  scrub.step = "any";
  pace.innerHTML = film.paces
    .map(({ label }, i) => `<option value="${i}">${label}</option>`)
    .join("");
  pace.value = film.pace;
  const put = mover(svg, film.motions);

  let t = film.poster;
  let fresh = true; // nothing has been played: the poster is up
  let playing = false;
  let frame = 0;
  let before = 0;
  let due = 0; // when the next event is shown, with less motion
  let told = 0; // events in the log
  let said = 0; // when something was last announced
  box.dataset.frames = 0;

  function show() {
    const named = channels(stateAt(film, t), film.paces[pace.value].quick);
    put(named);
    scrub.value = t;
    box.dataset.time = t;
    tell();
  }

  function tell() {
    const now = passed(times, t);
    if (now !== told) {
      const lines = film.events.slice(Math.max(0, now - LINES), now);
      if (now === told + 1 && now <= LINES) log.append(line(lines[lines.length - 1]));
      else log.replaceChildren(...lines.map(line));
      requestAnimationFrame(() => { log.scrollTop = log.scrollHeight; }); // once it is laid out
      told = now;
      scrub.setAttribute("aria-valuetext", film.events[now - 1][1]);
    }
    const time = performance.now();
    if (fresh || (playing && time - said < SAY_EVERY)) return;
    const words = film.events[now - 1][1];
    if (find("said").textContent !== words) {
      find("said").textContent = words;
      said = time;
    }
  }

  function line([, text]) {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  }

  function tick(time) {
    frame = 0;
    if (!playing || !root.host.isConnected) return;
    if (calm.matches) {
      if (time >= due) {
        t = times[passed(times, t)] ?? end;
        due = time + STEP_EVERY;
      }
    } else {
      t += (film.paces[pace.value].pace * clamp(time - before, 0, 250)) / 1000;
    }
    before = time;
    box.dataset.frames = Number(box.dataset.frames) + 1;
    if (t >= end) {
      t = end;
      run(false);
    }
    show();
    if (playing) frame = requestAnimationFrame(tick);
  }

  function run(on) {
    if (on && (fresh || t >= end)) t = 0;
    if (on) fresh = false;
    playing = on;
    play.textContent = on ? "❚❚ Pause" : "▶ Play";
    cancelAnimationFrame(frame);
    if (on) {
      before = performance.now();
      due = before + STEP_EVERY;
      frame = requestAnimationFrame(tick);
    }
    show();
  }

  function seek(to) {
    fresh = false;
    t = clamp(to, 0, end);
    run(false);
  }

  const forward = () => seek(times[passed(times, t)] ?? end);
  function back() {
    const i = passed(times, t) - 1;
    seek(times[t > times[i] ? i : Math.max(i - 1, 0)]);
  }

  function note() {
    const words = [...film.paces[pace.value].notes];
    if (calm.matches) words.push("Your system asks for less motion: Play goes from event to event.");
    find("notes").textContent = words.join(" ");
    box.dataset.pace = film.paces[pace.value].pace;
  }

  const keys = {
    " ": () => run(!playing),
    ArrowRight: forward,
    ArrowLeft: back,
    Home: () => seek(0),
    End: () => seek(end),
    PageUp: () => seek(t + end / 50),
    PageDown: () => seek(t - end / 50),
  };
  box.addEventListener("keydown", (event) => {
    const key = event.key;
    if (event.altKey || event.ctrlKey || event.metaKey || !keys[key]) return;
    if (event.target === pace || event.target === log) return; // they have keys of their own
    if (key === " " && event.target.tagName === "BUTTON") return; // it presses the button
    event.preventDefault();
    event.stopPropagation();
    keys[key]();
  });
  play.addEventListener("click", () => run(!playing));
  find("step").addEventListener("click", forward);
  find("back").addEventListener("click", back);
  scrub.addEventListener("input", () => seek(Number(scrub.value)));
  find("picture").addEventListener("click", () => {
    play.focus();
    run(!playing);
  });
  pace.addEventListener("change", () => {
    note();
    show();
  });
  calm.addEventListener("change", note);
  note();
  run(false);
  return () => {
    playing = false;
    cancelAnimationFrame(frame);
    calm.removeEventListener("change", note);
  };
}

export default {
  render({ model, el }) {
    const host = document.createElement("div");
    host.className = "kitchen-player";
    host.dataset.lmSuppressShortcuts = "true";
    el.append(host);
    const root = host.attachShadow({ mode: "open" }); // its ids and styles are its own
    let stop = player(root, model.get("sent"), model.get("sheet"));
    const change = () => {
      stop();
      stop = player(root, model.get("sent"), model.get("sheet"));
    };
    model.on("change:sent", change);
    return () => {
      stop();
      model.off("change:sent", change);
    };
  },
};
