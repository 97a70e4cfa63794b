import fc from "fast-check";

// A run of the tests draws the same random cases every time, so that a change is judged by what it changed. `npm run fuzz` draws new ones.
if (process.env.QKV_FUZZ === undefined) fc.configureGlobal({ seed: 2017 });
