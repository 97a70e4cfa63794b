export const NewTraining = () => <h1>New training</h1>;
