// Gradio's first loading screen leaves an animation loop behind when it goes: sixty empty frames a
// second for as long as the page is open, on the processor that is about to be measured. A loop of
// its own logo goes on for four seconds and ends by itself.
const STEADY_FRAMES = 30, MOST_FRAMES = 600;

// End the loop of animation frames that nobody ends, if there is one; nothing where our own replay
// moves. Handles are counted up, one a request: where every frame takes one besides ours, that one
// is the loop's. Where frames take more, something else moves too: wait for its end.
function endIdleLoop() {
  if (lab.isLooking) return;
  lab.isLooking = true;
  let last = null, others = 0, steady = 0, left = MOST_FRAMES;
  function next() {
    const own = requestAnimationFrame(next);
    const now = last === null ? 0 : own - last - 1;
    steady = now === others ? steady + 1 : 0;
    others = now;
    const isDue = steady >= STEADY_FRAMES && others < 2;
    left -= 1;
    lab.isLooking = !isDue && left > 0 && !lab.isMoving;
    if (!lab.isLooking) cancelAnimationFrame(own);
    if (isDue && others === 1 && !lab.isMoving) cancelAnimationFrame(last + 1);
    last = own;
  }
  requestAnimationFrame(next);
}
