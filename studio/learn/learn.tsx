export const Learn = () => <h1>Learn</h1>;
