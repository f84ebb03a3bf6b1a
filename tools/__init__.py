"""What builds and checks the collection: environment, notebooks, figures, claims."""
